/**
 * Texts that may be part of a path of this API. Clients and proxies resolve `.` and `..`, encoded or not, before they
 * send a path, and control characters they do not send at all.
 */
export const isPathPart = (id: string): boolean => id !== '.' && id !== '..' && !/\p{Cc}/u.test(id);
