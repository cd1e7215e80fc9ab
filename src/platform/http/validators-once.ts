import { getMetadataStorage } from 'class-validator';

type Storage = ReturnType<typeof getMetadataStorage>;
type Validators = ReturnType<Storage['getTargetValidationMetadatas']>;

let isDone = false;

/**
 * class-validator asks all classes which of their validators an object of one has, and sorts them by members, for each object anew:
 * a third of what it costs to check a body. Validators come with their class, so here they are looked up once. What is looked up by
 * groups or by a schema, of which nothing here makes use, is so each time.
 */
export function lookUpValidatorsOnce(): void {
  if (isDone) return;
  isDone = true;
  const storage = getMetadataStorage();
  const find = storage.getTargetValidationMetadatas.bind(storage);
  const group = storage.groupByPropertyName.bind(storage);
  const found = new WeakMap<object, Validators>();
  const grouped = new WeakMap<Validators, ReturnType<typeof group>>();
  const getTargetValidationMetadatas: typeof find = (target, schema, always, strictGroups, groups) => {
    if (schema || always || strictGroups || groups?.length) return find(target, schema, always, strictGroups, groups);
    let validators = found.get(target);
    if (!validators) found.set(target, (validators = find(target, schema, always, strictGroups, groups)));
    return validators;
  };
  const groupByPropertyName: typeof group = (validators) => {
    let groups = grouped.get(validators);
    if (!groups) grouped.set(validators, (groups = group(validators)));
    return groups;
  };
  Object.assign(storage, { getTargetValidationMetadatas, groupByPropertyName });
}
