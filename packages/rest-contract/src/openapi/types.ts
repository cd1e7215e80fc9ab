// The part of OpenAPI 3.0 and 3.1 that documents are made of here. Specification extensions (x-…) are not supported.

export interface JsonSchema {
  [keyword: string]: unknown;
  $ref?: string;
  /** Several in OpenAPI 3.1 only. */
  type?: string | string[];
  format?: string;
  description?: string;
}

export interface MediaTypeObject {
  schema?: JsonSchema;
  example?: unknown;
}

export interface HeaderObject {
  description?: string;
  required?: boolean;
  schema?: JsonSchema;
}

export interface ResponseObject {
  description: string;
  headers?: Record<string, HeaderObject>;
  content?: Record<string, MediaTypeObject>;
}

export type ResponseDocs = Readonly<Record<string, ResponseObject>>;

export interface ParameterObject {
  name: string;
  in: 'path' | 'query' | 'header' | 'cookie';
  required?: boolean;
  description?: string;
  deprecated?: boolean;
  allowEmptyValue?: boolean;
  schema?: JsonSchema;
  example?: unknown;
}

export interface RequestBodyObject {
  description?: string;
  required?: boolean;
  content: Record<string, MediaTypeObject>;
}

export interface OperationObject {
  operationId?: string;
  summary?: string;
  description?: string;
  deprecated?: boolean;
  tags?: string[];
  parameters?: ParameterObject[];
  requestBody?: RequestBodyObject;
  responses: Record<string, ResponseObject>;
  security?: Record<string, string[]>[];
}

export interface InfoObject {
  title: string;
  version: string;
  description?: string;
}

export interface OpenApiDocument {
  openapi: '3.0.3' | '3.1.0';
  info: InfoObject;
  servers?: { url: string; description?: string }[];
  tags?: { name: string; description?: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  components?: {
    schemas?: Record<string, JsonSchema>;
    securitySchemes?: Record<string, Record<string, unknown>>;
  };
  security?: Record<string, string[]>[];
}
