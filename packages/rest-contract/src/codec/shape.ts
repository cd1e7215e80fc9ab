import type { Codec } from './codec.js';
import type { StandardSchema } from './standard-schema.js';

/** What may stand for the type of a parameter or result: a schema, or a codec that stands for itself. */
export type Shape = StandardSchema | Codec;
