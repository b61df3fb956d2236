// The known name a mistyped one was meant to be.

/** The nearest of `known`, if near enough to be worth a guess. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  // One edit turns any one-letter name into any other: that is no guess.
  let least = Math.min(Math.max(1, Math.floor(name.length / 3)), name.length - 1) + 1
  for (const candidate of known) {
    const edits = distance(name.toLowerCase(), candidate.toLowerCase())
    if (edits < least) {
      best = candidate
      least = edits
    }
  }
  return best
}

/** Edits from one word to the other, where swapping two neighbours is one edit. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let edits = Math.min(change, last[j]! + 1, row[j - 1]! + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, before[j - 2]! + 1)
      row.push(edits)
    }
    before = last
    last = row
  }
  return last[b.length]!
}
