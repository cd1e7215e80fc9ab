/** Something the person who starts the program can put right. The message says what, on one line. */
export class StartError extends Error {}
