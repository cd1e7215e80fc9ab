import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';

type OlderName = ApiPropertyOptions & {
  /** The member that has taken its place. */
  of: string;
};

/** On a record: names under which older clients know members of it. They may stand in what is sent, never in answers. */
export const OlderNames =
  (names: Readonly<Record<string, OlderName>>): ClassDecorator =>
  ({ prototype }) => {
    for (const [name, { of, ...schema }] of Object.entries(names)) {
      const description = `Older name of ${of}. Answers never have it.`;
      ApiProperty({ ...schema, description, required: false, writeOnly: true } as ApiPropertyOptions)(
        prototype as object,
        name,
      );
    }
  };
