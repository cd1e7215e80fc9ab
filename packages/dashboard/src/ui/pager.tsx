export function Pager({
  page,
  pageCount,
  onPage,
}: {
  page: number;
  pageCount: number | undefined;
  onPage: (page: number) => void;
}) {
  if (page === 1 && (pageCount ?? 1) <= 1) return null;
  return (
    <nav className="pager" aria-label="Pages of the table">
      <button type="button" disabled={page <= 1} onClick={() => onPage(page - 1)}>
        Newer
      </button>
      <span>
        Page {page}
        {pageCount !== undefined && ` of ${pageCount}`}
      </span>
      <button type="button" disabled={pageCount !== undefined && page >= pageCount} onClick={() => onPage(page + 1)}>
        Older
      </button>
    </nav>
  );
}
