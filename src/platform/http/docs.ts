import type { INestApplication } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import { describeApi } from './describe-api.js';

/** Swagger UI at /docs and the document behind it at /docs/openapi.json, made when first asked for. */
export function serveDocs(app: INestApplication): void {
  SwaggerModule.setup('docs', app, () => describeApi(app), {
    jsonDocumentUrl: 'docs/openapi.json',
    customSiteTitle: 'Muster API',
    swaggerOptions: { docExpansion: 'none', tagsSorter: 'alpha', defaultModelsExpandDepth: 0 },
  });
}
