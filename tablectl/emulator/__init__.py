"""The emulated table: a shoe and a pad behind pseudo-terminals, and a dealer who keeps to the rules, or does not.

`device` is a serial port that can be unplugged; `script` says observations as the bytes of one make of device; `dealer` deals,
and `mistakes` are what he does wrong on demand; `wrong` is what a line suffers, with an account of what arrived whole; `table`
puts them together. `python -m tablectl.emulator` runs one as a process of its own.
"""
