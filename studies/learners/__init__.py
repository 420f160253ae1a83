"""Which learner on the features, from how many rows on, and must the inputs be scaled? docs/board/learners.md says
beforehand what is measured and what counts as which answer."""
