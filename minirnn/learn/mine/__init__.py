"""The learner's answers in use: devices in which every passed exercise replaces a part of minirnn."""
