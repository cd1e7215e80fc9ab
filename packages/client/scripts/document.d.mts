/** The OpenAPI document of the contract: its operations, and the records that they are made of. */
export function documentOf(openapi: (contract: never, options: never) => object, contract: object): object;
