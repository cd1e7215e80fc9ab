import helmet from 'helmet';
import type { RequestHandler } from 'express';

/**
 * What browsers are told about our pages: nothing of them comes from elsewhere, and nobody frames them. Styles may stand in
 * the page, since Swagger UI puts them there. Whether the service is reached by HTTPS is the operator's affair: nothing here
 * asks browsers to insist on it.
 */
export const securityHeaders = (): RequestHandler =>
  helmet({
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
