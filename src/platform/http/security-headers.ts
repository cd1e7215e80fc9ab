import helmet from 'helmet';
import type { NextFunction, Request, RequestHandler, Response } from 'express';

/**
 * What browsers are told about our pages: nothing of them comes from elsewhere, and nobody frames them. Styles may stand in
 * the page, since Swagger UI puts them there. Whether the service is reached by HTTPS is the operator's affair: nothing here
 * asks browsers to insist on it.
 */
const handler = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'self'"],
      styleSrc: ["'self'", "'unsafe-inline'"],
      imgSrc: ["'self'", 'data:'],
      objectSrc: ["'none'"],
      baseUri: ["'self'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
    },
  },
  strictTransportSecurity: false,
  // The API is made to be called from elsewhere where CORS allows it.
  crossOriginResourcePolicy: { policy: 'cross-origin' },
});

/** They are the same for every answer, so they are made once. */
export function securityHeaders(): RequestHandler {
  const headers = new Map<string, string>();
  const collector = {
    setHeader: (name: string, value: string) => headers.set(name, value),
    removeHeader: (name: string) => headers.delete(name),
  };
  handler({} as Request, collector as unknown as Response, () => undefined);
  return (_request: Request, response: Response, next: NextFunction) => {
    response.setHeaders(headers);
    next();
  };
}
