import type { INestApplication } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import { describeApi } from './describe-api.js';

/** Browsers refuse to send what the document allows older clients: a read with a body. */
const withoutBodyOfReads = (request: { method: string; body?: unknown }): object => {
  if (request.method === 'GET') delete request.body;
  return request;
};

/** Swagger UI at /docs and the document behind it at /docs/openapi.json, made when first asked for. */
export function serveDocs(app: INestApplication): void {
  SwaggerModule.setup('docs', app, () => describeApi(app), {
    jsonDocumentUrl: 'docs/openapi.json',
    customSiteTitle: 'Muster API',
    swaggerOptions: {
      docExpansion: 'none',
      tagsSorter: 'alpha',
      defaultModelsExpandDepth: 0,
      requestInterceptor: withoutBodyOfReads,
    },
  });
}
