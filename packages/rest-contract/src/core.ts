// What servers and clients share: the contract and everything it is made of.
export * from './raw/body.js';
export * from './raw/failures.js';
export * from './raw/http-error.js';
export { accepts, charsetOf, essence, FORM_TYPE, JSON_TYPE, NDJSON_TYPE, TEXT_TYPE } from './raw/media-type.js';
export { type Entry, type HandleRequest, headerOf, type RestRequest, type RestResponse } from './raw/message.js';
export type { InputOf, OutputOf, SchemaIssue, SchemaResult, StandardSchema } from './codec/standard-schema.js';
export {
  type Codec,
  type CodecDocs,
  type CodecKind,
  codec,
  type Json,
  type ReadContext,
  type Way,
} from './codec/codec.js';
export { type CodecRule, codecFor, lowPriority, withCodec } from './codec/rules.js';
export { bytes, byteStream, errorOf, httpBody, rawResponse, text, unit } from './codec/bodies.js';
export { type ElementCodec, jsonArray, ndjson } from './codec/elements.js';
export { float } from './codec/float.js';
export * from './contract/errors.js';
export { httpError, type KnownError, knownError } from './contract/known-errors.js';
export {
  body,
  type ClientArgs,
  cookie,
  field,
  type Group,
  group,
  header,
  type Param,
  param,
  type Params,
  path,
  query,
  type ServerArgs,
} from './contract/params.js';
export { del, get, operation, patch, post, prefix, put } from './contract/operations.js';
export {
  type ErrorTypes,
  type Method,
  type Operation,
  type OperationOptions,
  type Prefix,
  type PrefixOptions,
} from './contract/types.js';
export { type Args, contract, type ContractOptions } from './contract/contract.js';
export { type AnyContract, type Contract } from './contract/types.js';
export type { ReadOfShape, SentOfShape } from './contract/shapes.js';
export type { Shape } from './codec/shape.js';
export { adjustSchema, describe, named, withSchema } from './openapi/naming.js';
export * from './async/wrappers.js';
