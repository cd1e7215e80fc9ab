/** count and page as a client may give them; absent or zero: the defaults. */
export interface PageChoice {
  count?: number;
  page?: number;
}

export interface PageBounds {
  count: number;
  offset: number;
}

/** One page, and how many there are. */
export interface Page<T> {
  dataCount: number;
  pageCount: number;
  page: number;
  objects: T[];
}

const defaultCount = 100;
const maxCount = 1_000;

export function pageBounds({ count = defaultCount, page = 1 }: PageChoice): PageBounds {
  const capped = Math.min(count, maxCount);
  return { count: capped, offset: capped * (page - 1) };
}

export function toPage<T>(choice: PageChoice, dataCount: number, objects: T[]): Page<T> {
  const { count } = pageBounds(choice);
  return { dataCount, pageCount: Math.ceil(dataCount / count), page: choice.page ?? 1, objects };
}
