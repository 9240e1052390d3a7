import { expect, test } from 'vitest'
import { TestEndpoint } from '../../support/endpoint.ts'
import { newProject } from './project.ts'

test('deliveries and audit find the store of a configuration', async () => {
  const endpoint = await TestEndpoint.start()
  const project = await newProject(endpoint.url)
  expect(await project.run(['deliveries'])).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^There is no store yet. .*evroute\.db\n/) as string,
  })
  expect(await project.run(['deliveries', 'retry', '--all'])).toMatchObject({ code: 7 })
  await project.run(['audience', 'sync', '--key', 'vip', '--file', '-'], { stdin: 'id\nu_1\n' })
  const { records } = await project.run(['deliveries', '--json'])
  expect(records).toMatchObject([{ kind: 'delivery', state: 'delivered', userId: 'u_1' }])
  expect(await project.run(['deliveries', 'show', 'crm/1'])).toMatchObject({ code: 0 })
  expect(await project.run(['audit', '--json'])).toMatchObject({ code: 0 })
})
