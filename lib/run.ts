// The gateway in one process.

import { Log } from './base/log.ts'
import { Beside } from './beside.ts'
import { Ending, outlive } from './ending.ts'
import { Gateway } from './gateway.ts'
import { Reloader } from './reload.ts'
import { tellHints, tellLoaded } from './start.ts'
import type { Loaded, Start } from './start.ts'

export async function run(start: Start, { config, readAt }: Loaded): Promise<void> {
  const { env, exit } = start
  const log = new Log(config.process.logging)
  outlive(log)
  const gateway = new Gateway(config, log)
  const reloader = new Reloader(gateway, log, start)
  const stop = async (): Promise<void> => {
    reloader.close()
    await gateway.stop()
  }
  const ending = new Ending({ log, stop, exit })
  const quit = (): void => ending.begin('/quitquitquit')
  // Before the first line: it remembers them for the page.
  const beside = new Beside({ config, env, gateway, reloader, log, quit })
  tellLoaded(config, log)
  // However it ends: child processes and the files of unix sockets go with it.
  process.on('exit', () => {
    gateway.abandon()
    beside.close()
  })
  await beside.open()
  await gateway.start()
  // Before it says that it has started: whoever reads that may send a signal.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => ending.signalled(signal))
  if (start.mayChange) reloader.keepUp(readAt)
  tellHints(config, log)
}
