// 64 MiB at a time at full speed: the throughput of bodies, and the cost of a GiB.
import { nowMicros } from './fixtures.ts'
import type { Measure, Subject } from './measure.ts'
import type { Sample } from './stats.ts'
import { TRANSFER, download, upload, type Transfer } from './transfer.ts'

const MIB = 1024 * 1024

export const bulkDown = measure('64 MiB down, again and again, on a connection each', download)
export const bulkUp = measure('64 MiB up, again and again, on a connection each', upload)

function measure(title: string, transfer: Transfer): Measure {
  return {
    title,
    speaks: 'http',
    columns: [
      { key: 'rate', title: 'MiB/s', digits: 0 },
      { key: 'cpu', title: 'CPU ms/GiB', digits: 0 },
      { key: 'busy', title: 'core busy %', digits: 0 },
      { key: 'capacity', title: 'MiB/s a core', digits: 0 },
    ],
    leading: 'rate',
    fresh: false,
    round: async (subject) => moved(subject, transfer),
  }
}

async function moved({ proxy, options }: Subject, transfer: Transfer): Promise<Sample> {
  const before = proxy.cpu()
  const began = nowMicros()
  const ends = began + options.seconds * 1e6
  let mib = 0
  while (nowMicros() < ends) {
    await transfer(proxy.port, 0)
    mib += TRANSFER / MIB
  }
  const micros = nowMicros() - began
  const cpu = proxy.cpu().total - before.total
  return {
    rate: mib / (micros / 1e6),
    cpu: cpu / 1000 / (mib / 1024),
    busy: (cpu / micros) * 100,
    capacity: mib / (cpu / 1e6),
  }
}
