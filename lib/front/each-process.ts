// /memory and /debug/tasks of this process and of every worker, in one answer: one entry for each process.

import { memoryOfProcess } from '../admin/memory.ts'
import { answerJson } from '../admin/server.ts'
import { resources } from '../admin/tasks.ts'
import type { Endpoints, Handler } from '../base/endpoints.ts'
import { objectIn } from '../base/json/object-in.ts'
import { askAt } from './ask.ts'
import type { Crew } from './crew.ts'

export function eachProcessEndpoints(crew: Crew): Endpoints {
  return {
    '/memory': { GET: eachOf(crew, '/memory', memoryOfProcess) },
    '/debug/tasks': {
      GET: eachOf(crew, '/debug/tasks', () => ({ resources: resources() })),
    },
  }
}

function eachOf(crew: Crew, path: string, own: () => object): Handler {
  return async (_request, response) => {
    const said = await crew.all(async ({ admin }) => {
      const { status, body } = await askAt(admin, { path })
      const told = status === 200 ? objectIn(body.toString()) : null
      if (told === null) throw new Error(`answered ${status}`)
      return told
    })
    answerJson(response, {
      captured_at_unix_ms: Date.now(),
      supervisor: { pid: process.pid, ...own() },
      workers: said.map((one) => {
        const { slot, pid } = one.door
        if ('problem' in one) return { worker: slot, pid, error: one.problem }
        const { captured_at_unix_ms: _at, ...told } = one.value
        return { worker: slot, pid, ...told }
      }),
    })
  }
}
