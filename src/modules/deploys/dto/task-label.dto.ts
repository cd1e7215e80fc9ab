import { IsOptional } from 'class-validator';
import { isMap, isShort, Text } from '../../../platform/http/fields.js';

/** A label of a task. */
export class ClusterTaskLabelDto {
  /** Name of the label. */
  @Text('name')
  key: string;
  /** Value of the label. */
  @IsOptional()
  @Text('command')
  value?: string;
}

const isText = (value: unknown): boolean => value === undefined || typeof value === 'string';
/** A list of labels as they stand in a map, which no validator of records reads. */
export const isLabelList = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every(
    (label) => isMap(label) && typeof label.key === 'string' && isShort(label.key, 'name') && isText(label.value),
  );
