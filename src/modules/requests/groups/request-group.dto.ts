import { IsOptional } from 'class-validator';
import { NestedList, TextMap, Texts, Text } from '../../../platform/http/fields.js';
import { Since } from '../../../platform/http/since.js';
import { mostWindows, TimeWindowDto } from '../dto/request-timing.dto.js';

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
  /**
   * Windows in which deploys of its requests start, at most 50, beside those of each request; outside of them a deploy is refused. One in
   * progress goes on, and a rollback starts at any time. Default: at any time.
   */
  @Since('muster')
  @IsOptional()
  @NestedList(() => TimeWindowDto, mostWindows)
  deployWindows?: TimeWindowDto[];
}
