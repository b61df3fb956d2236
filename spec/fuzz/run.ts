// Runs all fuzz targets in turn for the given time, and prints the seed, which repeats a failure.
//   npm run fuzz -- [--minutes 5] [--seed 1] [--only part of a name]

import { parseArgs } from 'node:util'
import type { Target } from './target.ts'
import { TARGETS } from './targets.ts'

/** The time of one turn of one target. */
const TURN_MS = 3_000
/** Keeps the seeds of two turns apart. */
const SEEDS_PER_TURN = 100_000

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    only: { type: 'string', default: '' },
  },
})
const minutes = Number(values.minutes)
const first = Number(values.seed)
const targets = TARGETS.filter(({ name }) => name.includes(values.only))
if (!(minutes > 0) || !Number.isSafeInteger(first) || targets.length === 0) {
  process.stderr.write('usage: npm run fuzz -- [--minutes 5] [--seed 1] [--only part of a name]\n')
  process.exit(2)
}

const inputs = new Map<Target, number>()
const failed = new Set<Target>()
const until = performance.now() + minutes * 60_000
process.stdout.write(`seed ${first}, ${minutes} min, ${targets.length} targets\n`)
for (let seed = first; performance.now() < until && failed.size < targets.length;) {
  for (const target of targets.filter((one) => !failed.has(one))) {
    const tried = await target.run(seed, TURN_MS)
    inputs.set(target, (inputs.get(target) ?? 0) + tried.inputs)
    if (tried.failure === null) continue
    failed.add(target)
    process.stdout.write(`FAIL ${target.name}\n${tried.failure}\n`)
  }
  seed += SEEDS_PER_TURN
}
for (const target of targets)
  process.stdout.write(
    `${failed.has(target) ? 'FAIL' : 'ok  '} ${inputs.get(target)} inputs: ${target.name}\n`,
  )
process.exit(failed.size === 0 ? 0 : 1)
