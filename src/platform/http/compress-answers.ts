import compression from 'compression';
import type { NextFunction, Request, RequestHandler, Response } from 'express';

/** Shorter answers become longer by it. */
const fromBytes = 256;

/** gzip and the like for callers that ask for it. For the others nothing stands between the answer and its connection. */
export function compressAnswers(): RequestHandler {
  const compress = compression({ threshold: fromBytes });
  return (request: Request, response: Response, next: NextFunction) => {
    if (request.headers['accept-encoding'] !== undefined) return compress(request, response, next);
    response.vary('Accept-Encoding');
    next();
  };
}
