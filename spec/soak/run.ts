// `npm run soak -- --minutes 10`: mixed traffic; prints a report, and fails if a request was lost or a resource was leaked.

import { parseArgs } from 'node:util'
import { soak } from './soak.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
  },
})
const seconds = Number(values.minutes) * 60
if (!(seconds > 0)) throw new Error(`--minutes: ${values.minutes} is not a positive number`)

const tell = (text: string): void => void process.stdout.write(`${text}\n`)
tell(`a soak of ${seconds} s, seed ${values.seed}`)
const { sent, ends, outcomes, reloads, complaints } = await soak({
  seconds,
  seed: Number(values.seed),
  tell,
})
tell(`${sent} requests, ${reloads} reloads`)
tell(`for clients: ${JSON.stringify(ends)}`)
tell(`in the log:  ${JSON.stringify(outcomes)}`)
for (const complaint of complaints) tell(`not well: ${complaint}`)
tell(complaints.length === 0 ? 'all is well' : `${complaints.length} complaints`)
process.exitCode = complaints.length === 0 ? 0 : 1
