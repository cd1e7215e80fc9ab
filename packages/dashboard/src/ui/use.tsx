/** What is used of what there is, as a bar and in figures; more than all of it is red. */
export function Use(props: { label: string; used: number; of: number; format: (value: number) => string }) {
  const { label, used, of, format } = props;
  const share = of > 0 ? used / of : undefined;
  return (
    <p className={share !== undefined && share > 1 ? 'use over' : 'use'}>
      <span>{label}</span>
      <meter min={0} max={of > 0 ? of : 1} value={Math.min(used, of > 0 ? of : 1)} aria-label={label} />
      <span>
        {format(used)} of {format(of)}
        {share !== undefined && ` (${Math.round(share * 100)} %)`}
      </span>
    </p>
  );
}
