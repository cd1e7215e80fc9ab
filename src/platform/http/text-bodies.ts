import type { Request } from 'express';

/** Operations whose body is one text, which clients send bare or as a JSON string. */
const takesText = /^\/api\/notifications\/(un)?subscribe\/?$/;

/** Is the body of this call to be read as text, whatever it calls itself? */
export const readsText = (request: Request): boolean => request.method === 'POST' && takesText.test(request.path);

export const isPlainText = (contentType: string): boolean => /^text\/plain\s*(;|$)/i.test(contentType);
