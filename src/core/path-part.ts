/**
 * What stands in the paths of this API. Of `.` and `..`, encoded or not, clients and proxies make another path before they send it,
 * and control characters they do not send at all.
 */
export const isPathPart = (id: string): boolean => id !== '.' && id !== '..' && !/\p{Cc}/u.test(id);
