"""Seeing the felt: pictures in, cards out. Pure on arrays: no clock, no thread, no chance but a generator that is handed in.

`faces` draws playing cards and `scene` lays them onto a felt as a camera would see it. `find` finds the corner indices, `read`
says rank and suit with a calibrated confidence, `joining` makes cards of them, `codes` reads bar codes on a card that was
found. `calibration` knows where in a picture the felt's places are. Pictures are `uint8` arrays of rows, columns and
blue-green-red, as OpenCV has them; scale is px/mm everywhere: 2 is good, 1.5 borderline, 1.0 fails.
"""
