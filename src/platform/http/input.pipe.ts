import { ValidationPipe, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { SchedulerError } from '../errors.js';
import { isMap } from './fields.js';
import { knownMembers } from './known-members.js';
import { isNotGiven, readBoolean, readInteger } from './query.js';
import { toFieldErrors } from './validation-errors.js';

/** Of all that is wrong with a body, so many of the first are told. */
const mostErrors = 100;

/** Nest's own would also delete keys named "constructor", which a map of the user may have; ours are clean already. */
class FieldValidation extends ValidationPipe {
  protected override stripProtoKeys(): void {}
}

const validating = (code: 'INVALID_REQUEST' | 'INVALID_PARAMETER') =>
  new FieldValidation({
    transform: true,
    // Unknown members are ignored: newer clients send fields that this version does not know.
    whitelist: true,
    forbidUnknownValues: false,
    exceptionFactory: (errors) => SchedulerError.invalid(code, toFieldErrors(errors).slice(0, mostErrors)),
  });

/** Turns what a call brings into what its handler declares, or refuses it naming each field and the broken rule. */
export class InputPipe implements PipeTransform {
  private readonly bodies = validating('INVALID_REQUEST');
  private readonly parameters = validating('INVALID_PARAMETER');

  transform(value: unknown, metadata: ArgumentMetadata): unknown {
    if (metadata.type === 'body') return this.body(value, metadata);
    if (metadata.type === 'query' || metadata.type === 'param') return this.parameter(value, metadata);
    return value;
  }

  private body(value: unknown, metadata: ArgumentMetadata): unknown {
    const declared = metadata.metatype;
    if (declared === undefined || declared === String) return value;
    if (!isMap(value)) {
      const message = 'The body must be a JSON object';
      throw SchedulerError.invalid('INVALID_REQUEST', [{ field: '', rule: 'type', message }]);
    }
    return this.bodies.transform(knownMembers(value, declared), metadata);
  }

  /** Either one named parameter of a simple type, or a class that describes all of them. */
  private parameter(value: unknown, metadata: ArgumentMetadata): unknown {
    if (isMap(value)) return this.parameters.transform(given(value), metadata);
    if (metadata.type === 'query' && isNotGiven(value)) return undefined;
    if (value === undefined) return value;
    if (metadata.metatype === Boolean) return this.expect('boolean', readBoolean(value), metadata);
    if (metadata.metatype === Number) return this.expect('number', readInteger(value), metadata);
    if (metadata.metatype === String) return this.expect('string', value, metadata);
    return value;
  }

  private expect(type: string, value: unknown, { data = '' }: ArgumentMetadata): unknown {
    if (typeof value === type) return value;
    const wanted = type === 'number' ? 'a whole number' : type === 'boolean' ? 'true or false' : 'given once';
    throw SchedulerError.invalid('INVALID_PARAMETER', [
      { field: data, rule: 'type', message: `${data} must be ${wanted}` },
    ]);
  }
}

function given(query: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(query)) {
    if (name === '__proto__') continue;
    const values = [value].flat().filter((one) => !isNotGiven(one));
    if (values.length > 0) result[name] = values.length === 1 ? values[0] : values;
  }
  return result;
}
