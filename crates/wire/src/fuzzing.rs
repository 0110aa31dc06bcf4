//! What the fuzzer runs, and the tests run on its corpora: one function for each target.
