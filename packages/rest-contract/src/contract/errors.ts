/** Type that a rejected argument is compared with, so that the compiler's message holds the sentence. */
export interface ContractError<Message extends string> {
  readonly contractError: Message;
}

/** A type without a codec: give it one on the parameter (`.via`), in the contract's codec set, or on the schema. */
export interface NeedsCodec<Message extends string, Type = unknown> extends ContractError<Message> {
  readonly typeWithoutCodec: Type;
}

/** A contract that cannot be served or called, found when it is made, served or connected. */
export class ContractDefinitionError extends Error {
  override readonly name = 'ContractDefinitionError';
}
