// The library needs one source even before there is any support code.
