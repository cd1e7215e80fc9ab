export { type DocumentOptions, openapi } from './openapi/document.js';
export { DocumentError } from './openapi/schemas.js';
export * from './openapi/types.js';
