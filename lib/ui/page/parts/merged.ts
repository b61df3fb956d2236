// Lines of the log from two tellings as one list.

import type { LogLine } from '../../../admin/page-api/page-api-types.ts'

/** Each once, by number; the newest when there are too many. A gateway that began anew counts anew: then only its own. */
export function merged(
  lines: readonly LogLine[],
  more: readonly LogLine[],
  most: number,
): readonly LogLine[] {
  const [last, newest] = [lines.at(-1), more.at(-1)]
  if (last === undefined || newest === undefined) return (last ? lines : more).slice(-most)
  if (newest.number <= last.number && newest.at > last.at) return more.slice(-most)
  if (newest.number > last.number && newest.at < last.at) return lines.slice(-most)
  if (more[0]!.number > last.number) return [...lines, ...more].slice(-most)
  const byNumber = new Map([...lines, ...more].map((line) => [line.number, line]))
  return [...byNumber.values()].sort((one, other) => one.number - other.number).slice(-most)
}

/** How many between the first and the last are not there: they came too fast to be sent. */
export function missingIn(lines: readonly LogLine[]): number {
  const [first, last] = [lines[0], lines.at(-1)]
  return first && last ? last.number - first.number + 1 - lines.length : 0
}
