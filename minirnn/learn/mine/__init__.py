"""The learner's answers at work: devices that take each part whose exercise is passed from the learner's own file."""
