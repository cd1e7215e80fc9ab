import { recordSchemas } from './record-schemas.mjs';

/** The OpenAPI document of the contract: its operations, and the records that they are made of. */
export function documentOf(openapi, MusterApi) {
  const document = openapi(MusterApi, {
    info: { title: 'Muster', version: '1', description: 'What muster-client knows of the API.' },
  });
  return { ...document, components: { ...document.components, schemas: recordSchemas() } };
}
