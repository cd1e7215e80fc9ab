import type { Codec } from './codec.js';
import type { StandardSchema } from './standard-schema.js';

/** Type of a parameter or result: a schema, or a codec. */
export type Shape = StandardSchema | Codec;
