// Runs an external command to its end or to its deadline.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from '../root.ts'

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs in the build folder. After the deadline it is killed and its code is null. */
export async function run(command: string, args: string[], mostMs: number): Promise<Ran> {
  const child = spawn(command, args, { cwd: join(ROOT, 'dist'), stdio: ['ignore', 'pipe', 'pipe'] })
  const timer = setTimeout(() => child.kill('SIGKILL'), mostMs)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    return { code, stdout, stderr }
  } finally {
    clearTimeout(timer)
  }
}
