/** One cell; null: the column holds no value. */
export type Cell = string | null;

/**
 * Reads CSV (RFC 4180) piece by piece, because a dump may be longer than memory: cells in double quotes may hold commas,
 * line ends and doubled quotes. No value is an empty cell without quotes, or \N.
 */
export class CsvReader {
  private cells: Cell[] = [];
  private text = '';
  /** quoted: the cell began with a quote. open: it has not been closed yet. */
  private quoted = false;
  private open = false;
  /** The last character of the piece before was a quote within a quoted cell: the next one tells what it meant. */
  private quotePending = false;

  /** The rows that are complete with this piece. */
  push(piece: string): Cell[][] {
    const rows: Cell[][] = [];
    for (const character of piece) this.take(character, rows);
    return rows;
  }

  /** The last row, when no line end followed it. Throws when the text ends within quotes. */
  end(): Cell[][] {
    if (this.open && !this.quotePending) throw new Error('The text ends within a quoted cell');
    const rows: Cell[][] = [];
    if (this.cells.length > 0 || this.text !== '' || this.quoted) this.endRow(rows);
    return rows;
  }

  private take(character: string, rows: Cell[][]): void {
    if (this.open) {
      if (!this.quotePending) {
        if (character === '"') this.quotePending = true;
        else this.text += character;
        return;
      }
      this.quotePending = false;
      if (character === '"') {
        this.text += '"';
        return;
      }
      this.open = false;
    }
    if (character === ',') this.endCell();
    else if (character === '\n') this.endRow(rows);
    else if (character === '"' && this.text === '' && !this.quoted) this.quoted = this.open = true;
    // Of a line end in two characters the first says nothing.
    else if (character !== '\r') this.text += character;
  }

  private endCell(): void {
    const isAbsent = !this.quoted && (this.text === '' || this.text === '\\N');
    this.cells.push(isAbsent ? null : this.text);
    this.text = '';
    this.quoted = this.open = this.quotePending = false;
  }

  private endRow(rows: Cell[][]): void {
    const isBlank = this.cells.length === 0 && this.text === '' && !this.quoted;
    if (isBlank) return;
    this.endCell();
    rows.push(this.cells);
    this.cells = [];
  }
}
