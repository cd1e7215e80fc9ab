import { ApiExtension, ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';

/**
 * Extension that marks parts of the served document that are later than what older clients know, with the version since
 * which they are there.
 */
export const sinceExtension = 'x-since';

const additions = {
  '1.5': 'An addition of version 1.5 of this API.',
  muster: 'An addition of Muster.',
} as const;
type Since = keyof typeof additions;

export const sentenceOf = (since: unknown): string | undefined =>
  Object.hasOwn(additions, String(since)) ? additions[since as Since] : undefined;

/** On an operation, or a member of a record or query, that older clients do not know. */
export const Since = (since: Since): MethodDecorator & PropertyDecorator =>
  ((target: object, name: string | symbol, descriptor?: TypedPropertyDescriptor<unknown>) => {
    if (descriptor) ApiExtension(sinceExtension, since)(target, name, descriptor);
    else ApiProperty({ [sinceExtension]: since } as ApiPropertyOptions)(target, name);
  }) as MethodDecorator & PropertyDecorator;
