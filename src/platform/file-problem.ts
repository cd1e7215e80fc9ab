const fileProblems: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user has no permission',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of its path is not a directory',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not text in UTF-8',
};

/** Reason why a file could not be read or written, in words where they are known. */
export function fileProblem(cause: unknown): string {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  return fileProblems[code] ?? (code || message);
}
