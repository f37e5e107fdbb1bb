"""Grading, from what students handed in to the grades that a teacher enters. Each file has one subject.

- `collecting`, `archive`, `folder` and `notebook` read a submission within bounds, whatever it is: `handed`; `reading`
  has that done by a process with limits, `reader`;
- `task` grades one submission: the unit of work, for any machine; `courses` packs the course;
- `students` tells students apart by a roster, a pattern or the names of the submissions;
- `session` is the command; `run` grades many, `journal` keeps every grade on the disk, `publish` renders reports;
- `late` and `overrides` are what teachers decide after the machine; `regrade` compares with an earlier run;
- `statistics`, `statistics_picture`, `tokens` and `similarity` look at the whole class; `stamp` says what graded.
"""
