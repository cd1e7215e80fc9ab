import { useLocation } from '@tanstack/react-router';
import { navTitleLinks, view } from '../view';
import { MenuButton } from '../ui/menu';
import { Go } from '../ui/links';
import { pathElsewhere } from './path-elsewhere';

/** The name of the cluster; a menu, where there are others. */
export function ClusterTitle() {
  const { pathname } = useLocation();
  const links = navTitleLinks.map(({ title, linkFormat }) => ({
    label: title,
    onChoose: () => location.assign(linkFormat.replaceAll('{CURRENT_PATH}', pathElsewhere(pathname))),
  }));
  return (
    <span className="title">
      <Go to="/requests">{view.title}</Go>
      {links.length > 0 && <MenuButton label="Other clusters" text="" choices={links} />}
    </span>
  );
}
