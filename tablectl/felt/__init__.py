"""The felt: what a camera sees of the table, in millimetres, and which card lies where. Nothing else imports `cv2`."""
