"""Behind the scikit-learn door: tables in, labels out, any classifier as a learner."""
