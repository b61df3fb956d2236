// Finds the known name that is closest to a mistyped one.

/** The known name with the fewest edits, or undefined if none is close enough for a suggestion. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  // One edit turns any one-letter name into any other, so such a name gets no suggestion.
  let fewest = Math.min(Math.max(1, Math.floor(name.length / 3)), name.length - 1) + 1
  for (const candidate of known) {
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (edits < fewest) {
      best = candidate
      fewest = edits
    }
  }
  return best
}

/** The number of insertions, deletions, replacements and swaps of two adjacent letters. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let edits = Math.min(replaced, last[j]! + 1, row[j - 1]! + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, beforeLast[j - 2]! + 1)
      row.push(edits)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
