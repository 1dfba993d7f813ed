// A target has a source, and the precompiled headers of all tests belong to a target.
