// Requests to the admin interface of a soaked gateway, over its unix socket.

import { request } from 'node:http'
import { deadline } from '../support/deadline.ts'

const ANSWER_MS = 20_000

export async function askAdmin(socketPath: string, path: string): Promise<string> {
  const answered = new Promise<string>((resolve, reject) => {
    const call = request({ socketPath, path, headers: { host: 'localhost' } }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (more: string) => (text += more))
      answer.on('end', () => resolve(text)).on('error', reject)
    })
    call.on('error', reject).end()
  })
  return deadline(answered, ANSWER_MS, path)
}
