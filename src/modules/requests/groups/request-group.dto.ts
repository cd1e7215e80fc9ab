import { IsOptional } from 'class-validator';
import { TextMap, Texts, Text } from '../../../platform/http/fields.js';

/** Requests that belong together, such as those of one product. */
export class RequestGroupDto {
  /** Id of the group: letters, digits, '_' and '-'. */
  @Text('name')
  id: string;
  /** Ids of its requests, in the order in which people see them. They need not exist. */
  @Texts('name')
  requestIds: string[];
  /** Notes of people about the group. */
  @IsOptional()
  @TextMap()
  metadata?: Record<string, string>;
}
