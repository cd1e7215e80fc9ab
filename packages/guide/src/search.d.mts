import type MiniSearch from 'minisearch';
import type { Options } from 'minisearch';

export interface Section {
  id: string;
  page: string;
  title: string;
  text: string;
  summary: string;
}
export const searchOptions: Options<Section>;
export function search(index: MiniSearch<Section>, query: string): Omit<Section, 'text'>[];
